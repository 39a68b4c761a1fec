package wire

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// BaseURLError reports a base URL that no request may be sent to.
type BaseURLError struct {
	URL    string // scheme and host only: the rest may hold what must not be shown; "" without them
	Reason string
}

func (e *BaseURLError) Error() string {
	const try = "Try: https://host/ or http://127.0.0.1:PORT/"
	if e.URL == "" {
		return fmt.Sprintf("upstream URL: %s. %s", e.Reason, try)
	}
	return fmt.Sprintf("upstream URL %q: %s. %s", e.URL, e.Reason, try)
}

// ParseBaseURL accepts https to any host and http to this machine, and returns it with the path
// "/" and without a default port.
func ParseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		// The error of url.Parse repeats the URL or a part of it, which may hold a secret.
		return nil, &BaseURLError{Reason: "not a URL"}
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	refuse := func(reason string) (*url.URL, error) {
		origin, _ := splitAddress(s)
		return nil, &BaseURLError{URL: origin, Reason: reason}
	}
	switch {
	case scheme != "https" && scheme != "http":
		return refuse("must begin with https://, or with http:// for a loopback address")
	case u.Hostname() == "":
		return refuse("names no host")
	case u.User != nil:
		return refuse("must not hold a user name or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return refuse("must not hold a query or fragment")
	case u.Path != "" && u.Path != "/":
		return refuse("must not hold a path")
	case !validPort(u.Port()):
		return refuse("has a port that is not in 1..65535")
	case scheme == "http" && !IsLoopback(u.Hostname()):
		return refuse("http would travel in clear over the network")
	}
	if port := map[string]string{"https": ":443", "http": ":80"}[scheme]; strings.HasSuffix(host, port) {
		host = strings.TrimSuffix(host, port)
	}
	return &url.URL{Scheme: scheme, Host: strings.TrimSuffix(host, ":"), Path: "/"}, nil
}

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// IsLoopback reports whether host, without a port, is this machine: localhost, 127.0.0.0/8 or ::1, only as usually
// written.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
