//! The practical limit: a bare-bones io_uring loop with registered file and buffers, batches of the whole depth, and no
//! statistics at all, through the same in-line system call. `bare_ring FILE DEPTH SECONDS direct|buffered` prints IOPS and I/Os.

use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use assay_engine::BufferPool as _;
use assay_engine::buffers::MappedBuffers;
use assay_workload::rng::Rng;
use io_uring::{IoUring, opcode, types};

#[path = "../src/engines/syscall.rs"]
mod syscall;

const BLOCK: u32 = 4096;
/// IORING_ENTER_GETEVENTS.
const ENTER_GETEVENTS: usize = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, path, depth, seconds, mode] = words.as_slice() else {
        return Err("usage: bare_ring FILE DEPTH SECONDS direct|buffered".into());
    };
    let (depth, seconds): (u32, u64) = (depth.parse()?, seconds.parse()?);
    let direct = if mode == "direct" { libc::O_DIRECT } else { 0 };
    let file = std::fs::File::options().read(true).custom_flags(direct | libc::O_NOATIME).open(path)?;
    let blocks = file.metadata()?.len() / u64::from(BLOCK);
    let buffers = MappedBuffers::new(depth, BLOCK as usize)?;
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth.next_power_of_two())?;
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let all = buffers.all();
    let vector = libc::iovec { iov_base: all.address.cast(), iov_len: all.len_bytes };
    // SAFETY: the mapping outlives the ring's use of it: everything is reaped before the end of main.
    unsafe { ring.submitter().register_buffers(&[vector])? };
    let mut rng = Rng::new(1);
    let enter = libc::SYS_io_uring_enter;
    let fd = ring.as_raw_fd() as usize;
    let (mut ios, mut free) = (0_u64, (0..depth).collect::<Vec<_>>());
    let started = Instant::now();
    let mut outstanding = 0;
    let (mut more, mut look_at) = (true, 4096);
    loop {
        // The clock is looked at every few thousand I/Os, whatever number of them completes at a time.
        if ios >= look_at {
            more = started.elapsed() < Duration::from_secs(seconds);
            look_at = ios + 4096;
        }
        let mut queued = 0;
        while more && let Some(slot) = free.pop() {
            let offset = rng.below(blocks) * u64::from(BLOCK);
            let read = opcode::ReadFixed::new(types::Fixed(0), buffers.buffer(slot).address, BLOCK, 0)
                .offset(offset)
                .build()
                .user_data(u64::from(slot));
            // SAFETY: the slot's buffer is not in use by another request.
            unsafe { ring.submission().push(&read)? };
            queued += 1;
            outstanding += 1;
        }
        if outstanding == 0 {
            break;
        }
        // SAFETY: the entries name buffers that live until they are reaped.
        let result = unsafe { syscall::syscall(enter, [fd, queued, 1, ENTER_GETEVENTS, 0, 0]) };
        if result != queued as isize {
            return Err(format!("io_uring_enter: {result}").into());
        }
        for done in ring.completion() {
            if done.result() != BLOCK as i32 {
                return Err(format!("read: {}", done.result()).into());
            }
            free.push(done.user_data() as u32);
            ios += 1;
            outstanding -= 1;
        }
    }
    let iops = ios as f64 / started.elapsed().as_secs_f64();
    writeln!(std::io::stdout(), "{iops:.0} {ios}")?;
    Ok(())
}
