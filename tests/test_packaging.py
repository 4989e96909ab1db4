"""What is shipped: the built files, importing without settings, migrations under other settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

import django_agent_memory

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "django_agent_memory"


def run(*arguments: str, cwd: Path = ROOT, **extra: str) -> str:
    """Run this Python with the arguments in a nearly empty environment; return what it prints."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **extra}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Return the folder of a freshly built wheel and sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run("-m", "hatchling", "build", "-d", str(folder))
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


def shipped_files() -> set[str]:
    """Return every file of the package in this tree, as the wheel names it."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel):
    names = set(wheel.namelist())
    information = {name for name in names if ".dist-info/" in name}
    assert names - information == shipped_files()
    assert "django_agent_memory/py.typed" in names
    assert "django_agent_memory/migrations/0001_initial.py" in names
    assert any(name.endswith("/licenses/LICENSE") for name in information)


def test_templates_and_static_files_are_where_django_looks(wheel):
    names = wheel.namelist()
    for folder in ("templates", "static"):
        found = [name for name in names if name.startswith(f"django_agent_memory/{folder}/")]
        assert found, folder
        own = f"django_agent_memory/{folder}/(admin/)?(django_)?agent_memory/"
        assert all(re.match(own, name) for name in found), found


def test_the_metadata_is_that_of_the_package(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))
    assert metadata["Version"] == django_agent_memory.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_payload().startswith("# django-agent-memory")
    needed = [d for d in metadata.get_all("Requires-Dist") if "extra ==" not in d]
    assert sorted(re.split(r"[>=]", d)[0].lower() for d in needed) == [
        "django",
        "django-filter",
        "djangorestframework",
    ]


def test_the_sdist_holds_what_building_and_testing_need(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "manage.py",
        "demo_project/settings.py",
        "tests/settings.py",
        "tests/requirements/oldest.txt",
    ):
        assert name in names
    assert shipped_files() <= names


def test_it_imports_without_settings_and_pulls_in_neither_models_nor_rest_framework():
    code = (
        "import sys, django_agent_memory; "
        "print(django_agent_memory.__version__, *sorted(m for m in sys.modules "
        "if m.startswith(('rest_framework', 'django.db', 'django_agent_memory.'))))"
    )
    assert run("-c", code) == f"{django_agent_memory.__version__}\n"


def test_it_is_installed_before_models_may_be_imported_and_without_the_admin(tmp_path):
    (tmp_path / "plain.py").write_text(
        "INSTALLED_APPS = ['django.contrib.contenttypes', 'django.contrib.auth',"
        " 'django_agent_memory']\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n"
        "SECRET_KEY = 'x'\n"
    )
    code = (
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        "call_command('migrate', verbosity=0)\n"
        "from django_agent_memory import Memory\n"
        "print(Memory('core').remember('k', 's', 'b').outcome)\n"
        "import sys; print('rest_framework' in sys.modules)\n"
    )
    printed = run(
        "-c", code, cwd=tmp_path, DJANGO_SETTINGS_MODULE="plain", PYTHONPATH=path(tmp_path)
    )
    assert printed == "created\nFalse\n"


def test_the_app_with_its_urls_imports_no_framework_for_agents():
    code = (
        "import django; django.setup()\n"
        "import django_agent_memory.adapters, django_agent_memory.urls, django_agent_memory.admin\n"
        "import django_agent_memory.management.commands.agent_key\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"django_agent_memory.adapters", "django_agent_memory.urls"} <= imported
    frameworks = ("mcp", "langgraph", "anthropic", "pydantic", "pydantic_ai", "agents", "openai")
    assert not {name for name in imported if name.partition(".")[0] in frameworks}


def path(*folders: Path) -> str:
    """Return the folders and this tree as a PYTHONPATH."""
    return os.pathsep.join(map(str, (*folders, ROOT)))


VARIANTS = {
    "as it is": "",
    "32-bit ids": "DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'",
    "64-bit ids": "DEFAULT_AUTO_FIELD = 'django.db.models.BigAutoField'",
    "other language": "LANGUAGE_CODE = 'de'",
    "no time zones": "USE_TZ = False",
    "other limits": (
        "AGENT_MEMORY_MAX_KEY_LENGTH = 64\n"
        "AGENT_MEMORY_MAX_SUMMARY_LENGTH = 200\n"
        "AGENT_MEMORY_MAX_BODY_LENGTH = 5_000"
    ),
}


@pytest.mark.parametrize("lines", VARIANTS.values(), ids=VARIANTS)
def test_no_setting_of_a_site_makes_a_migration(tmp_path, lines):
    (tmp_path / "variant.py").write_text(f"from tests.settings import *\n{lines}\n")
    printed = run(
        *("-m", "django", "makemigrations", "--check", "--dry-run"),
        DJANGO_SETTINGS_MODULE="variant",
        PYTHONPATH=path(tmp_path),
        TMPDIR=str(tmp_path),
    )
    assert printed == "No changes detected\n"


@pytest.mark.django_db(transaction=True)
def test_migrations_reverse_and_apply_again():
    def tables() -> set[str]:
        names = connection.introspection.table_names()
        return {name for name in names if name.startswith("agent_memory_")}

    before = tables()
    assert before
    try:
        call_command("migrate", "agent_memory", "zero", verbosity=0)
        assert tables() == set()
    finally:
        call_command("migrate", "agent_memory", verbosity=0)
    assert tables() == before


def tracked() -> list[Path]:
    """Return the committed text files outside `.ci`."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if ".ci" not in path.parts and path.is_file()]


def test_no_committed_file_names_a_machine_or_a_registry():
    # In pieces, so that this file does not name them either.
    folders = "|".join(["tm" + "p", "wor" + "k", "roo" + "t", "hom" + "e/\\w", "Use" + "rs"])
    hosts = "|".join(["py" + r"pi\.org", "python" + "hosted", "np" + r"mjs\.org"])
    forbidden = re.compile(rf"(?<![\w.>-])/({folders})/|{hosts}")
    found = []
    for file in tracked():
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if forbidden.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found


def test_nothing_is_left_to_do():
    words = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
    found = [
        str(file.relative_to(ROOT))
        for file in tracked()
        if file.suffix in {".py", ".md", ".html", ".toml", ".css"}
        and words.search(file.read_text(encoding="utf-8"))
    ]
    assert not found
