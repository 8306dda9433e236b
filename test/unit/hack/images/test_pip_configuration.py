"""How pip inside a build reaches the package index."""

from __future__ import annotations

from hack.images.pip_configuration import CERTIFICATE_IN_BUILD, build_pip_configuration


def test_without_settings_pip_is_left_alone() -> None:
    configuration = build_pip_configuration("")
    assert configuration.text == "[global]\n"
    assert configuration.certificates == ""


def test_certificates_are_named_by_their_place_in_the_build() -> None:
    configuration = build_pip_configuration("global.cert='/etc/ssl/certs/ca-certificates.crt'\n")
    assert configuration.text == f"[global]\ncert = {CERTIFICATE_IN_BUILD}\n"
    assert configuration.certificates == "/etc/ssl/certs/ca-certificates.crt"


def test_the_environment_wins_over_files() -> None:
    listing = ":env:.index-url='https://environment.example/simple'\nglobal.index-url='https://file.example/simple'\n"
    assert build_pip_configuration(listing).text == "[global]\nindex-url = https://environment.example/simple\n"


def test_folders_of_this_machine_are_not_handed_on() -> None:
    listing = "global.find-links='/opt/wheels'\nglobal.cache-dir='/var/cache/pip'\nglobal.default-timeout='180'\n"
    assert build_pip_configuration(listing).text == "[global]\ndefault-timeout = 180\n"
