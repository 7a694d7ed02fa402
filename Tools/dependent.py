"""Builds a package of the tests that depends on this one, and gives its program's path; for Tools/counts and Tools/way."""

import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def build(scratch, package, program, *options):
    """Builds `program` of Tests/`package` in `scratch`, a folder of the checkout."""
    users = root / scratch / "users"  # SwiftPM names a dependency by the last part of its path: a link, as a clone may be called anything
    users.mkdir(parents=True, exist_ok=True)
    (users / "Scheduler").unlink(missing_ok=True)
    (users / "Scheduler").symlink_to(root)
    shutil.copytree(root / "Tests" / package, users / package, dirs_exist_ok=True)
    swift = ["swift", "build", *options, "--package-path", users / package, "--scratch-path", root / scratch / "build"]
    done = subprocess.run(swift, capture_output=True, text=True)
    if done.returncode != 0:  # after a source has gone, SwiftPM may go on missing it
        shutil.rmtree(root / scratch / "build", ignore_errors=True)
        done = subprocess.run(swift, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"Tests/{package} does not build:\n{done.stdout}{done.stderr}")
    shown = subprocess.run([*swift, "--show-bin-path"], capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / program
