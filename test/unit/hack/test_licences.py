from hack.licences import build_table, locked_packages


def test_packages_of_other_platforms_are_left_out() -> None:
    lock = "b==2 ; sys_platform == 'win32' \\\n    --hash=sha256:00\na==1 \\\n    --hash=sha256:11\n    # via x\n"
    assert locked_packages(lock) == ["a"]


def test_the_table_is_sorted_whatever_the_case() -> None:
    packages = [{"Name": name, "Version": "1", "License": "MIT"} for name in ("b", "A")]
    assert build_table(packages).splitlines()[-2:] == ["| A | 1 | MIT |", "| b | 1 | MIT |"]
