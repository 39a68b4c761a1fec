package httplimit_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

func prefixes(in ...string) (out []netip.Prefix) {
	for _, s := range in {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// The cases of github.com/realclientip/realclientip-go's RightmostTrustedRangeStrategy, by intention rather than word
// for word, where this package answers with the proxy itself instead of with nothing; and the cases that
// https://adam-p.ca/blog/2022/03/x-forwarded-for/ warns of. "peer" stands for the proxy's own address, 10.0.0.1.
func TestForgedForwardingHeaders(t *testing.T) {
	const peer = "10.0.0.1"
	type lines = []string
	tests := []struct {
		name    string
		proxies []netip.Prefix
		header  httplimit.Forwarding
		remote  string
		sent    map[string][]string
		want    string
	}{
		{"no proxies are listed: a bare header is nothing", nil, "", "198.51.100.7:1", map[string][]string{"X-Forwarded-For": {"1.1.1.1"}, "Forwarded": {"for=1.1.1.1"}, "X-Real-Ip": {"1.1.1.1"}, "True-Client-Ip": {"1.1.1.1"}}, "198.51.100.7"},
		{"peer is no proxy: spoofed header ignored", prefixes("10.0.0.0/8"), "", "9.9.9.9:1234", map[string][]string{"X-Forwarded-For": {"1.2.3.4, 10.0.0.1"}}, "9.9.9.9"},
		{"peer is no proxy, no header", prefixes("10.0.0.0/8"), "", "9.9.9.9:1", nil, "9.9.9.9"},
		{"peer is a proxy", prefixes("10.0.0.0/8"), "", "10.0.0.5:555", map[string][]string{"X-Forwarded-For": {"3.3.3.3, 10.0.0.1"}}, "3.3.3.3"},
		{"peer is a proxy that wrote nothing", prefixes("10.0.0.0/8"), "", "10.0.0.5:555", nil, "10.0.0.5"},
		{"an empty header", prefixes("10.0.0.0/8"), "", "10.0.0.5:555", map[string][]string{"X-Forwarded-For": {}}, "10.0.0.5"},
		{"an empty line", prefixes("10.0.0.0/8"), "", "10.0.0.5:555", map[string][]string{"X-Forwarded-For": {""}}, "10.0.0.5"},
		{"forged hops to the left", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1, 127.0.0.1, 10.9.9.9, 198.51.100.7"}}, "198.51.100.7"},
		{"forged in a line of its own", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1", "2.2.2.2, 198.51.100.7"}}, "198.51.100.7"},
		{"a trusted address forged to the left", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1, 10.0.0.2, 198.51.100.7"}}, "198.51.100.7"},
		{"two proxies", prefixes("10.0.0.0/8", "4.4.4.0/24"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"2.2.2.2:3384, 3.3.3.3", "4.4.4.4"}}, "3.3.3.3"},
		{"one proxy, one address", prefixes("10.0.0.1/32", "4.4.4.4/32"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"2.2.2.2:3384, 3.3.3.3", "4.4.4.4"}}, "3.3.3.3"},
		{"other headers say otherwise", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Real-Ip": {"1.1.1.1"}, "Forwarded": {"for=2.2.2.2"}, "X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7"},
		{"Forwarded is chosen, X-Forwarded-For forged", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1"}, "Forwarded": {"for=198.51.100.7"}}, "198.51.100.7"},
		{"many kinds of ranges", prefixes("10.0.0.1/32", "2.2.2.2/32", "2607:f8b0:4004:83f::200e/128", "3.3.0.0/16", "2001:db7::/64", "::ffff:4.4.4.4/124", "64:ff9b::188.0.2.128/112"), httplimit.Forwarded, peer + ":1",
			map[string][]string{"Forwarded": lines{`For=99.99.99.99, For=4.4.4.8, For="[2607:f8b0:4004:83f::200e]:4747"`, `For=2.2.2.2:8883, For=64:ff9b::188.0.2.200, For=3.3.5.5, For=2001:db7::abcd`}}, "99.99.99.99"},
		{"all hops are proxies: the farthest", prefixes("10.0.0.0/8", "2.2.2.0/24"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"2.2.2.2:3384, 2.2.2.3", "2.2.2.4"}}, "2.2.2.2"},
		{"the hop is garbage: the proxy that wrote it", prefixes("10.0.0.0/8", "2.2.2.0/24"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"nope, 2.2.2.2:3384, 2.2.2.3", "2.2.2.4"}}, "2.2.2.2"},
		{"the hop is unspecified", prefixes("10.0.0.0/8", "2.2.2.0/24"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"::, 2.2.2.2:3384, 2.2.2.3", "2.2.2.4"}}, "2.2.2.2"},
		{"garbage on the right is not jumped over", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1, 198.51.100.7, "}}, peer},
		{"an octet too many", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1, 7.7.7.7.7"}}, peer},
		{"a port that is none", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"198.51.100.7:http"}}, peer},
		{"IPv6 with a port and a zone", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"[2001:db8::7%eth0]:4711"}}, "2001:db8::7"},
		{"IPv6 bare", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {" \t2001:db8::7\t"}}, "2001:db8::7"},
		{"IPv4 in IPv6", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"::ffff:188.0.2.128"}}, "188.0.2.128"},
		{"a proxy of IPv4 in IPv6", prefixes("10.0.0.0/8"), "", "[::ffff:10.0.0.1]:1", map[string][]string{"X-Forwarded-For": {"198.51.100.7"}}, "198.51.100.7"},
		{"brackets without an end", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"[2001:db8::7"}}, peer},
		{"brackets around IPv4", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"[198.51.100.7]"}}, peer},
		{"peer with a zone", prefixes("10.0.0.0/8"), "", "[fe80::1%eth0]:9999", map[string][]string{"X-Forwarded-For": {"1.2.3.4"}}, "fe80::1"},
		{"peer is a Unix socket: nobody is believed", prefixes("10.0.0.0/8"), "", "@", map[string][]string{"X-Forwarded-For": {"3.3.3.3"}}, "invalid IP"},
		{"peer is garbage", prefixes("10.0.0.0/8"), "", "ohno", map[string][]string{"X-Forwarded-For": {"3.3.3.3"}}, "invalid IP"},
		{"peer is unspecified", prefixes("10.0.0.0/8"), "", "0.0.0.0:1", map[string][]string{"X-Forwarded-For": {"3.3.3.3"}}, "invalid IP"},
		{"Forwarded, all its parameters", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`host=what;For="198.51.100.7:4711";proto=https;by=_gateway`}}, "198.51.100.7"},
		{"Forwarded, IPv6 quoted", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for="[2001:db8::7]"`}}, "2001:db8::7"},
		{"Forwarded, unknown", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for=1.1.1.1, for=unknown`}}, peer},
		{"Forwarded, hidden", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for=1.1.1.1, for=_gazonk`}}, peer},
		{"Forwarded, without for", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for=1.1.1.1, proto=https`}}, peer},
		{"Forwarded, for twice", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for=198.51.100.7;for=1.1.1.1`}}, peer},
		{"Forwarded, a quote opened by the client", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for="1.1.1.1, for=198.51.100.7`}}, "198.51.100.7"},
		{"Forwarded, a quote opened in a line of its own", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for="1.1.1.1`, `for=198.51.100.7`}}, "198.51.100.7"},
		{"Forwarded, a hop in a host that the proxy quoted", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for=198.51.100.7;host="a, for=1.1.1.1"`}}, peer},
		{"Forwarded, with a quote that the proxy escaped", prefixes("10.0.0.0/8"), httplimit.Forwarded, peer + ":1", map[string][]string{"Forwarded": {`for=198.51.100.7;host="a, for=1.1.1.1;x=\""`}}, peer},
		{"more hops than anybody has", prefixes("10.0.0.0/8"), "", peer + ":1", map[string][]string{"X-Forwarded-For": {"1.1.1.1" + strings.Repeat(", 10.0.0.9", 10_000)}}, "10.0.0.9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := httplimit.New(httplimit.Config{Ledger: &memledger.Ledger{}, Proxies: tt.proxies, Forwarding: tt.header})
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Address(&http.Request{RemoteAddr: tt.remote, Header: tt.sent}); got.String() != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// The address that the proxy appended is the proxy's own, with any header from the client.
func FuzzForwardingHeaders(f *testing.F) {
	for _, s := range []string{"", "1.1.1.1", "for=1.1.1.1", `for="`, `"`, ",", "[::1", "10.0.0.2, 10.0.0.3", `for=10.0.0.2;host="\`, "\x00\xff", strings.Repeat("10.0.0.9,", 100)} {
		f.Add(s, s, true)
		f.Add(s, "x", false)
	}
	limiters := map[httplimit.Forwarding]*httplimit.Limiter{}
	for _, header := range []httplimit.Forwarding{httplimit.XForwardedFor, httplimit.Forwarded} {
		l, err := httplimit.New(httplimit.Config{Ledger: &memledger.Ledger{}, Proxies: prefixes("10.0.0.0/8"), Forwarding: header})
		if err != nil {
			f.Fatal(err)
		}
		limiters[header] = l
	}
	f.Fuzz(func(t *testing.T, line, other string, joined bool) {
		for header, l := range limiters {
			appended := "198.51.100.7"
			if header == httplimit.Forwarded {
				appended = "for=198.51.100.7;proto=https"
			}
			sent := []string{other, line}
			if joined {
				sent[1] += ", " + appended
			} else {
				sent = append(sent, appended)
			}
			r := &http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{string(header): sent}}
			if got := fmt.Sprint(l.Address(r)); got != "198.51.100.7" {
				t.Errorf("%s: %q makes it %s, want \"198.51.100.7\"", header, sent, got)
			}
		}
	})
}
