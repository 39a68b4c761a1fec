package wire_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestOnlyBaseURLsThatAreSafeAreAccepted(t *testing.T) {
	tests := []struct{ base, host, fault string }{
		{base: "https://api.example.org", host: "api.example.org"},
		{base: "https://API.Example.ORG:443/", host: "api.example.org"},
		{base: "https://example.org:8443/", host: "example.org:8443"},
		{base: "http://127.0.0.1:8080/", host: "127.0.0.1:8080"},
		{base: "HTTP://127.9.9.9:80", host: "127.9.9.9"},
		{base: "http://localhost:1/", host: "localhost:1"},
		{base: "http://[::1]:8080/", host: "[::1]:8080"},
		{base: "http://[::ffff:127.0.0.1]:8080/", host: "[::ffff:127.0.0.1]:8080"},

		{base: "http://example.org/", fault: "in clear"},
		{base: "http://192.168.1.1:8080/", fault: "in clear"},
		{base: "http://0.0.0.0:8080/", fault: "in clear"},
		{base: "http://localhost.example.org/", fault: "in clear"},
		{base: "http://127.0.0.1.example.org/", fault: "in clear"},
		{base: "http://2130706433/", fault: "in clear"},
		{base: "http://[fe80::1]/", fault: "in clear"},
		{base: "http://me:" + canary + "@127.0.0.1/", fault: "user name"},
		{base: "https://me@example.org/", fault: "user name"},
		{base: "https://example.org/?key=" + canary, fault: "query"},
		{base: "https://example.org/?", fault: "query"},
		{base: "https://example.org/#" + canary, fault: "fragment"},
		{base: "https://example.org/v2/", fault: "path"},
		{base: "ftp://127.0.0.1/", fault: "https://"},
		{base: "localhost:8080", fault: "https://"},
		{base: "example.org", fault: "https://"},
		{base: canary, fault: "https://"},
		{base: "https:///", fault: "no host"},
		{base: "https://:443/", fault: "no host"},
		{base: "http:127.0.0.1", fault: "no host"},
		{base: "https://example.org:0/", fault: "port"},
		{base: "127.0.0.1:8080", fault: "not a URL"},
		{base: "https://exa mple.org/", fault: "not a URL"},
		{base: "https://example.org:" + canary + "/", fault: "not a URL"},
		{base: "https://%zz" + canary, fault: "not a URL"},
		{base: canary + "://example.org/", fault: "not a URL"},
		{base: "https://example.org/" + canary + "\x7f", fault: "not a URL"},
	}
	for _, tt := range tests {
		u, err := wire.ParseBaseURL(tt.base)
		if tt.fault == "" {
			if err != nil || u.Host != tt.host || u.Path != "/" {
				t.Errorf("%q: %v, %v, want host %s", tt.base, u, err, tt.host)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v, want an error with %q", tt.base, err, tt.fault)
		}
	}
}
