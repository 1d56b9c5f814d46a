"""The ratios of a mail run beside those of published reports. Usage: mail_ratios.py RUN.json. Prints Markdown."""

import json
import sys


def main():
    run = json.load(open(sys.argv[1]))
    phase = next(phase for phase in run["phases"] if phase["kind"] == "measure")
    ops = phase["jobs"][0]["ops"]
    nothing = {"ios": 0, "bytes": 0, "iops": 0.0, "bytes_per_s": 0.0, "completion_ns": {"mean": 0.0}}

    def op(name):
        return ops.get(name, nothing)

    def size(name):
        return op(name)["bytes"] / max(op(name)["ios"], 1)

    read, write, log, scan = (op(name) for name in ("database read", "database write", "log write", "maintenance read"))
    writes = max(write["ios"], 1)
    kib = 1024
    rows = [
        ("reads : writes of the database", "0.98 (near 1)", read["ios"] / writes, 0.8, 1.25, ".3f"),
        ("database write, KiB", "32 to 36", size("database write") / kib, 32, 36, ".2f"),
        ("database read, KiB", "32 to 34", size("database read") / kib, 32, 34, ".2f"),
        ("log writes / database writes", "0.32 (0.2 to 0.45)", log["ios"] / writes, 0.2, 0.45, ".3f"),
        ("log write, KiB", "7.7 (6 to 12)", size("log write") / kib, 6, 12, ".2f"),
        ("log bytes / database write bytes", "0.072 (0.05 to 0.10)", log["bytes"] / max(write["bytes"], 1), 0.05, 0.10, ".4f"),
        ("maintenance, MB/s", "5.95 (5.4 to 6.5)", scan["bytes_per_s"] / 1e6, 5.4, 6.5, ".2f"),
    ]
    print("| | published | measured | in range |")
    print("|---|--:|--:|---|")
    for name, published, value, low, high, form in rows:
        print(f"| {name} | {published} | {value:{form}} | {'yes' if low <= value <= high else 'NO'} |")
    transactions = sum(op(name)["iops"] for name in ("insert", "delete", "replace", "read message"))
    print(f"\n{transactions:.0f} transactions/s; achieved transactional I/O {read['iops'] + write['iops']:.1f}/s; database read "
          f"{read['completion_ns']['mean'] / 1e6:.2f} ms, log write {log['completion_ns']['mean'] / 1e6:.2f} ms on average; "
          f"verdict {run['verdict']}")
    for finding in run["findings"]:
        if finding["severity"] in ("warning", "invalid"):
            print(f"- {finding['severity']}: {finding['id']}: {finding['message']}")


if __name__ == "__main__":
    main()
