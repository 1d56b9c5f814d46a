#!/usr/bin/env python3
"""Memory and descriptors of a process until it ends: soak_watch.py PID NAME SECONDS, which are how long it is going to take.

Writes NAME.csv and NAME.svg, and says whether the last three quarters of what is measured are flat: descriptors the same at the end as at the beginning,
and memory no more than 3 % above."""

import os
import sys
import time

# Samples of the whole, which are at most ten seconds apart in a long run.
SAMPLES = 30
STEP_MAX_S = 10


def sample(pid):
    """Resident KiB, descriptors and threads; None when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as lines:
            status = dict(line.split(":", 1) for line in lines)
        if "VmRSS" not in status:
            return None
        return int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])
    except OSError:
        return None


def picture(rows, path):
    """Both curves over time, each from 0 to its largest."""
    wide, high, end = 900, 240, rows[-1][0] or 1

    def curve(column, colour, name, offset):
        most = max(row[column] for row in rows) or 1
        points = " ".join(f"{40 + row[0] / end * wide:.1f},{offset + high - row[column] / most * high:.1f}" for row in rows)
        label = f'<text x="40" y="{offset - 6}" fill="{colour}">{name}: 0 to {most}</text>'
        frame = f'<rect x="40" y="{offset}" width="{wide}" height="{high}" fill="none" stroke="#999"/>'
        return f'{label}{frame}<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'

    parts = curve(1, "#0060a0", "resident memory, KiB", 30) + curve(2, "#a04000", "descriptors", 330)
    foot = f'<text x="40" y="600">{end:.0f} s</text>'
    with open(path, "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="980" height="620" font-family="sans-serif">{parts}{foot}</svg>')


def main():
    pid, name = int(sys.argv[1]), sys.argv[2]
    step_s = max(1, min(STEP_MAX_S, float(sys.argv[3]) / SAMPLES))
    start, rows = time.monotonic(), []
    while (now := sample(pid)) is not None:
        rows.append((time.monotonic() - start, *now))
        time.sleep(step_s)
    with open(name + ".csv", "w") as out:
        out.write("seconds,resident_kib,descriptors,threads\n")
        out.writelines(f"{row[0]:.0f},{row[1]},{row[2]},{row[3]}\n" for row in rows)
    if len(rows) < 12:
        sys.exit("it ended too early to say anything")
    picture(rows, name + ".svg")
    # Before it measures it lays out files with few threads, and the last sample may be of the process as it ends.
    most = max(row[3] for row in rows)
    measuring = [row for row in rows[:-1] if row[3] > most / 2]
    settled = measuring[len(measuring) // 4 :]
    memory, descriptors = ([row[column] for row in settled] for column in (1, 2))
    grew = memory[-1] / memory[0] - 1
    print(f"{len(rows)} samples; resident {memory[0]} -> {memory[-1]} KiB ({grew:+.1%}), at most {max(memory)}; "
          f"descriptors {descriptors[0]} -> {descriptors[-1]}, at most {max(descriptors)}")
    if grew > 0.03 or descriptors[-1] > descriptors[0]:
        sys.exit("not flat")


if __name__ == "__main__":
    main()
