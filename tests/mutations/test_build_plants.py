"""Each mistake the site is guarded against, planted in a small whole copy of it: the build fails and says where.

Each plant alone goes through ``check``; all together go through real builds, in which every one is reported at its
own line. Nothing else may be reported, and the copy without a plant is clean.
"""

from __future__ import annotations

import re

import pytest

from tests.mutations.plants import ALL, CONSTANT, CONSTANT_IN_BLOCK, CONSTANT_IN_CELL
from tests.mutations.plantsite import Edit, Plant, PlantSite, WarmCheck, reported

CHECKED = [plant for plant in ALL if not plant.run]
RUN = [plant for plant in ALL if plant.run]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> PlantSite:
    return PlantSite(tmp_path_factory.mktemp("plants"))


@pytest.fixture(scope="module")
def check(site):
    warm = WarmCheck(site)
    yield warm
    warm.close()


@pytest.fixture(scope="module")
def control(site):
    """The copy built before anything is planted; its cache is warm for every build that follows."""
    done = site.build("--quiet", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    return done


def assert_reported(site: PlantSite, plants: list[Plant], output: str) -> None:
    """Every fault of ``plants`` at its file and line, and no other."""
    assert "Traceback" not in output, output
    expected, found = site.expected(plants), reported(output)
    assert sorted({(path, line) for path, line, _ in found}) == sorted({place for place, _ in expected}), output
    for place, says in expected:
        assert any(says in message for path, line, message in found if (path, line) == place), (place, says, output)


def test_control_the_copy_is_clean(site, check, control):
    code, output = check()
    assert code == 0 and "all is well" in output, output
    assert "tl-num" in site.html("primer/account") and "tl-num" in site.html("en/primer/run")
    badge = '<a class="tl-grade tl-grade--proved" href="../evidence/#claim-paths-share" title="'
    assert site.html("en/primer/closing").count(badge) == 2
    assert '<a href="one/">one</a> <small class="tl-minutes">1 min</small>' in site.html("en/room")
    assert "Cite the essay" in site.html("en/room") and "Cite this page" in site.html("en/room/one")


def test_a_clean_build_logs_nothing_out_of_the_ordinary(site, control):
    """What the live preview shows when it starts: no page is skipped, nothing is warned of."""
    done = site.build()
    logged = [line.split(" -  ")[-1] for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode == 0 and logged, done.stderr
    usual = ("Cleaning site directory", "Building documentation to directory: ", "Documentation built in ")
    assert [line for line in logged if not line.startswith(usual)] == []
    assert (site.site / "reference/api/nn-norm/index.html").is_file() and not list(site.site.rglob("*tl-api-module*"))


@pytest.mark.parametrize("plant", CHECKED, ids=lambda plant: plant.name)
def test_check_finds_the_plant_alone(site, check, plant):
    with site.planted(plant):
        code, output = check()
        assert code == 1, output
        assert_reported(site, [plant], output)


def test_check_as_a_command_finds_all_at_once(site):
    with site.planted(*CHECKED):
        done = site.python("-m", "blocklib", "check")
        assert done.returncode == 1 and done.stderr == ""
        assert_reported(site, CHECKED, done.stdout)
        places = [fault[:2] for fault in reported(done.stdout)]
        assert places == sorted(places)


@pytest.mark.parametrize("option", ["--quiet", "--verbose", "--strict"])
def test_build_fails_and_reports_every_plant(site, control, option):
    with site.planted(*ALL):
        done = site.build(option)
        assert done.returncode == 1, done.stderr
        assert_reported(site, ALL, done.stdout + done.stderr)


@pytest.mark.parametrize("plant", RUN, ids=lambda plant: plant.name)
def test_a_faulty_block_alone_is_no_fault_of_check(site, check, plant):
    """Which is why the builds alone can find it: nothing runs in ``check``."""
    with site.planted(plant):
        code, output = check()
        assert code == 0, output


def test_a_library_constant_changed(site, control):
    with site.planted(CONSTANT):
        checked = site.python("-m", "blocklib", "check")
        assert checked.returncode == 1
        assert_reported(site, [CONSTANT], checked.stdout)
        done = site.build("--quiet")
        assert done.returncode == 1
        assert_reported(site, [CONSTANT, CONSTANT_IN_BLOCK, CONSTANT_IN_CELL], done.stderr)


HOOKS = "hooks: [scripts/mkdocs_hooks.py]"
DISARMED = {
    "hooks taken out": (Edit("mkdocs.yml", HOOKS, "hooks: []"), "must name hooks"),
    "hook file missing": (Edit("scripts/mkdocs_hooks.py"), "mkdocs_hooks.py"),
    "adapter that cannot be imported": (
        Edit("blocklib/site/adapter.py", "import contextlib\n", "import contextlib\nimport no_such_module\n"),
        "No module named 'no_such_module'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISARMED)
def test_a_build_that_cannot_check_never_passes(site, control, name):
    edit, says = DISARMED[name]
    with site.planted(Plant(name, (edit,), ())):
        done = site.build("--quiet")
        assert done.returncode != 0 and re.search(re.escape(says), done.stderr), done.stderr


def test_the_copy_is_whole_again(site, check, control):
    """Every plant was taken out: what failed above failed for its plant."""
    assert check()[0] == 0
    done = site.build("--quiet")
    assert (done.returncode, done.stderr) == (0, "")
