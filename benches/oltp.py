"""What qualify-oltp.sh measures on one PostgreSQL server: Assay's OLTP, and beside it go-tpc and pgbench. Prints Markdown."""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys

T_95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assay", required=True)
    parser.add_argument("--go-tpc", default="")
    parser.add_argument("--psql", required=True, help="directory of the server's programs")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True, help="of the server")
    parser.add_argument("--data", required=True, help="data directory of the server")
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--users", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--ramp", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", action="append", choices=["alone", "beside", "judged"], help="what is measured; without it: all")
    parser.add_argument("--stage", choices=["prepare", "measure"], help="only load the databases, or only measure; without it: both")
    return parser.parse_args()


def timed(command, env=None, expected=(0,)):
    """Output of a command and the CPU seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in expected:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def interval(values):
    """Mean and half width of its 95 % interval (Student's t)."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, float("nan")
    half = T_95.get(len(values) - 1, 1.96) * statistics.stdev(values) / len(values) ** 0.5
    return mean, half


def shown(values, digits=0):
    mean, half = interval(values)
    if half != half:
        return f"{mean:,.{digits}f} (n = 1)"
    return f"{mean:,.{digits}f} ± {half:,.{digits}f} (n = {len(values)})"


class Server:
    def __init__(self, given):
        self.given = given
        self.env = dict(os.environ, PGPASSWORD="")

    def url(self, database):
        return f"postgres://postgres@127.0.0.1:{self.given.port}/{database}"

    def sql(self, database, text):
        command = [f"{self.given.psql}/psql", "-XqtA", "-h", "127.0.0.1", "-p", str(self.given.port), "-U", "postgres"]
        return timed([*command, "-d", database, "-c", text], self.env)[0].strip()


def assay_run(server, more):
    given = server.given
    command = [given.assay, "--quiet", "oltp", "run", server.url("assay"), "--users", str(given.users)]
    command += ["--ramp", f"{given.ramp}s", "--time", f"{given.seconds}s", "--json", *more]
    out, cpu_s = timed(command)
    phase = json.loads(out)["phases"][0]
    job, metrics = phase["jobs"][0], phase["metrics"]
    done = job["total"]["ios"]
    # The ramp's transactions cost CPU as well.
    all_done = done * (given.ramp + given.seconds) / given.seconds
    return {
        "nopm": metrics["NOPM"]["value"],
        "tpm": metrics["TPM"]["value"],
        "ratio": metrics["TPM/NOPM"]["value"],
        "p95_ms": (job["ops"]["new-order"]["completion_ns"]["p95"] or float("nan")) / 1e6,
        "cpu_us": cpu_s * 1e6 / all_done,
        "cpu_own_us": job["cpu_ns_per_io"] / 1e3,
    }


def assay_check(server):
    timed([server.given.assay, "--quiet", "oltp", "check", server.url("assay")])


def go_tpc(server, verb, more):
    given = server.given
    command = [given.go_tpc, "tpcc", "-d", "postgres", "-H", "127.0.0.1", "-P", str(given.port), "-U", "postgres"]
    command += ["-D", "gotpc", "--conn-params", "sslmode=disable", "--warehouses", str(given.warehouses)]
    return timed([*command, "-T", str(given.users), verb, *more], server.env)


def go_tpc_run(server):
    """As long as Assay's ramp and measured time together; NOPM is counted in the database, as Assay does."""
    given = server.given
    orders = "SELECT sum(d_next_o_id) FROM district"
    before = int(server.sql("gotpc", orders))
    seconds = given.ramp + given.seconds
    out, cpu_s = go_tpc(server, "run", ["--time", f"{seconds}s"])
    after = int(server.sql("gotpc", orders))
    totals = [int(n) for n in re.findall(r"^\[Summary\] \S+ - Takes\(s\): \S+ Count: (\d+)", out, re.MULTILINE)]
    if not totals:
        sys.exit(f"go-tpc: no summary in its output\n{out[-2000:]}")
    return {"nopm": (after - before) * 60 / seconds, "cpu_us": cpu_s * 1e6 / sum(totals)}


def in_range(value, low, high):
    return "yes" if low <= value <= high else "NO"


def alone(server):
    given = server.given
    print(f"\n## Assay alone: {given.warehouses} warehouses, {given.users} users, {given.seconds} s\n")
    print("| | NOPM | TPM/NOPM | near 2.3 (2.2 to 2.4) | New-Order p95, ms | client CPU, us a transaction | its own count | checks |")
    print("|---|--:|--:|---|--:|--:|--:|---|")
    for name, more in [("server-side functions", ["--server-side"]), ("client SQL", [])]:
        run = assay_run(server, more)
        assay_check(server)
        near = in_range(run["ratio"], 2.2, 2.4)
        print(f"| {name} | {run['nopm']:,.0f} | {run['ratio']:.3f} | {near} | {run['p95_ms']:.2f} | {run['cpu_us']:.1f} "
              f"| {run['cpu_own_us']:.1f} | hold |", flush=True)


def beside(server):
    given = server.given
    print(f"\n## Beside go-tpc: {given.rounds} rounds by turns, client SQL, the mix 45:43:4:4:4\n")
    print("| round | first | Assay NOPM | go-tpc NOPM | Assay CPU, us | go-tpc CPU, us |")
    print("|--:|---|--:|--:|--:|--:|")
    ours, theirs = [], []
    for number in range(given.rounds):
        first = number % 2 == 0
        if not first:
            theirs.append(go_tpc_run(server))
        ours.append(assay_run(server, ["--mix", "spec"]))
        if first:
            theirs.append(go_tpc_run(server))
        a, b = ours[-1], theirs[-1]
        print(f"| {number + 1} | {'Assay' if first else 'go-tpc'} | {a['nopm']:,.0f} | {b['nopm']:,.0f} "
              f"| {a['cpu_us']:.1f} | {b['cpu_us']:.1f} |", flush=True)
    assay_check(server)
    nopm = [[run["nopm"] for run in runs] for runs in (ours, theirs)]
    cpu = [[run["cpu_us"] for run in runs] for runs in (ours, theirs)]
    print(f"\n- NOPM: Assay {shown(nopm[0])}, go-tpc {shown(nopm[1])}")
    ratios = [a / b for a, b in zip(*nopm)]
    mean, half = interval(ratios)
    within = "yes" if half == half and abs(mean - 1) <= half else "no: see below"
    print(f"- Assay's NOPM over go-tpc's, round by round: {shown(ratios, 3)}; 1 lies within: {within}")
    share = [a / b for a, b in zip(*cpu)]
    print(f"- client CPU a transaction: Assay {shown(cpu[0], 1)} us, go-tpc {shown(cpu[1], 1)} us; share {shown(share, 3)}; "
          f"at most half: {'yes' if statistics.fmean(share) <= 0.5 else 'NO'}")
    print("- what differs: go-tpc sends each statement by itself and pings before each transaction, reads and updates the stock of the home "
          "warehouse only, and counts rolled back orders; NOPM is counted in the database for both. Fewer round trips mean a higher rate "
          "where the client shares the server's CPUs.")


def pgbench(given):
    return [f"{given.psql}/pgbench", "-h", "127.0.0.1", "-p", str(given.port), "-U", "postgres"]


def judged(server):
    given = server.given
    print("\n## pgbench's TPC-B through assay judge\n")
    command = [given.assay, "--quiet", "judge", "--target", given.data, "--pid", str(given.pid), "--json", "--"]
    command += [*pgbench(given), "-c", str(given.users), "-T", str(given.seconds), "bench"]
    run = json.loads(timed(command, server.env)[0])
    phase = run["phases"][0]
    device = phase["device"] or {}
    print(f"- verdict {run['verdict']}; devices {', '.join(device.get('devices', [])) or 'not known'}")
    written, read = device.get("device_written_bytes"), device.get("device_read_bytes")
    print(f"- at the devices: {(written or 0) / 1e6:,.1f} MB written, {(read or 0) / 1e6:,.1f} MB read, "
          f"{device.get('device_flushes')} flushes, in {phase['measured_s']:.0f} s")
    for finding in run["findings"]:
        print(f"- {finding['severity']}: {finding['id']}: {finding['message']}")


def prepare(server):
    """Loads the databases that are not there."""
    given = server.given
    there = server.sql("postgres", "SELECT datname FROM pg_database").split()
    if "assay" not in there:
        server.sql("postgres", "CREATE DATABASE assay")
        timed([given.assay, "--quiet", "oltp", "build", server.url("assay"), "--warehouses", str(given.warehouses)])
    if given.go_tpc and "gotpc" not in there:
        server.sql("postgres", "CREATE DATABASE gotpc")
        go_tpc(server, "prepare", ["--no-check"])
    if "bench" not in there:
        server.sql("postgres", "CREATE DATABASE bench")
        timed([*pgbench(given), "-i", "-q", "-s", str(given.warehouses * 5), "bench"], server.env)
    print(f"built {given.warehouses} warehouses", flush=True)


def main():
    server = Server(arguments())
    if server.given.stage != "measure":
        prepare(server)
    if server.given.stage == "prepare":
        return
    parts = server.given.part or ["alone", "beside", "judged"]
    if "alone" in parts:
        alone(server)
    if "beside" in parts and server.given.go_tpc:
        beside(server)
    elif "beside" in parts:
        print("\n## Beside go-tpc: left out, GO_TPC names no program")
    if "judged" in parts:
        judged(server)


if __name__ == "__main__":
    main()
