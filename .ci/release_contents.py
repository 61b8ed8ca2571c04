"""Check what the files of a release hold: python .ci/release_contents.py FILE ..."""

import sys
import tarfile
import zipfile
from pathlib import Path

LARGEST = {".whl": 130, ".gz": 75}  # MB
UNWANTED = ("experiments/results", "models/large", ".venv", "__pycache__", ".git/", "build/")


def names_of(path: Path) -> list[str]:
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def main() -> None:
    problems = []
    for path in map(Path, sys.argv[1:]):
        names, size = names_of(path), path.stat().st_size / 1e6
        print(f"{path.name}: {len(names)} files, {size:.1f} MB")
        problems += [f"{path.name}: {name}" for name in names if any(part in name for part in UNWANTED)]
        if size > LARGEST[path.suffix]:
            problems.append(f"{path.name}: {size:.1f} MB; at most {LARGEST[path.suffix]}")
        if path.name.startswith("spansrl-") and not any(
            name.endswith("assets/model/config.json") for name in names
        ):
            problems.append(f"{path.name}: the model is missing")
    sys.exit("\n".join(problems[:20]) or 0)


if __name__ == "__main__":
    main()
