import pytest

from clockwork import StopToken
from informers.testing import FakeApiServer, faults
from informers.transport import ServerConfiguration, Transport
from informers.transport.proxy import choose_proxy, find_bypass
from test.builders.items import PODS

PROXY = "http://proxy:3128"
SERVER = "https://10.96.0.1:443"


@pytest.mark.parametrize(
    ("url", "configured", "environ", "proxy"),
    [
        pytest.param(SERVER, None, {}, None, id="3.6 row 20 none is set"),
        pytest.param(SERVER, None, {"HTTPS_PROXY": PROXY}, PROXY, id="3.6 row 20 $HTTPS_PROXY"),
        pytest.param(SERVER, None, {"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, PROXY, id="lower case first"),
        pytest.param(SERVER, None, {"HTTP_PROXY": PROXY}, None, id="$HTTP_PROXY is not for https"),
        pytest.param("http://server", None, {"HTTP_PROXY": PROXY}, PROXY, id="but for http"),
        pytest.param(SERVER, None, {"HTTPS_PROXY": "proxy:3128"}, PROXY, id="a proxy without a scheme"),
        pytest.param(
            SERVER, None, {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.96.0.0/12"}, None, id="3.6 row 20 a service's address"
        ),
        pytest.param(
            SERVER,
            PROXY,
            {"HTTPS_PROXY": "http://other", "NO_PROXY": "*"},
            PROXY,
            id="3.6 row 20 proxy-url comes first",
        ),
        pytest.param("https://127.0.0.1:6443", None, {"HTTPS_PROXY": PROXY}, None, id="a server on this host"),
    ],
)
def test_3_6_row_20_the_proxy_is_chosen_once(
    url: str, configured: str | None, environ: dict[str, str], proxy: str | None
) -> None:
    chosen, why = choose_proxy(url, configured, environ)
    assert chosen == proxy
    assert why


@pytest.mark.parametrize(
    ("url", "no_proxy", "entry"),
    [
        ("https://api.example.com", "example.com", "example.com"),
        ("https://example.com", "example.com", "example.com"),
        ("https://example.com", ".example.com", None),
        ("https://api.example.com", ".example.com", ".example.com"),
        ("https://api.example.com", "*.example.com", "*.example.com"),
        ("https://notexample.com", "example.com", None),
        ("https://API.Example.com", " other , EXAMPLE.com ", "example.com"),
        ("https://example.com:6443", "example.com:6443", "example.com:6443"),
        ("https://example.com:6443", "example.com:443", None),
        ("https://example.com", "example.com:443", "example.com:443"),
        ("https://10.96.0.1", "10.96.0.1", "10.96.0.1"),
        ("https://10.96.0.1", "10.96.0.0/16", "10.96.0.0/16"),
        ("https://10.97.0.1", "10.96.0.0/16", None),
        ("https://10.96.0.1", "nonsense/16", None),
        ("https://[fd00::1]:6443", "fd00::/8", "fd00::/8"),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", "[fd00::1]:6443"),
        ("https://example.com", "10.0.0.0/8,,*", "*"),
        ("https://example.com", "", None),
        ("https://localhost", "", ""),
    ],
)
def test_3_6_row_20_no_proxy_covers_names_addresses_and_networks(url: str, no_proxy: str, entry: str | None) -> None:
    assert find_bypass(url, no_proxy) == entry


def test_3_6_row_20_requests_and_watches_go_through_the_proxy() -> None:
    with FakeApiServer(PODS) as proxy:
        configuration = ServerConfiguration(
            url="http://kubernetes.invalid:6443", proxy=proxy.url.replace("http://", "http://user:secret@")
        )
        proxy.script(faults.CloseStream())
        with Transport(configuration) as api:
            assert api.request("GET", PODS.path()).code == 200
            with api.stream(PODS.path(), query={"watch": "1"}, stop=StopToken()) as lines:
                assert list(lines) == []
        assert {seen.headers["host"] for seen in proxy.requests} == {"kubernetes.invalid:6443"}
        assert {seen.headers["proxy-authorization"] for seen in proxy.requests} == {"Basic dXNlcjpzZWNyZXQ="}
