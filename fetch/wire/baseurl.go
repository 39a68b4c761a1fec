package wire

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseBaseURL accepts https to any host and http to this machine, and returns the URL with the path "/" and without a
// default port. Its error shows only scheme and host, since the rest may be secret.
func ParseBaseURL(s string) (*url.URL, error) {
	shown := "upstream URL"
	refuse := func(reason string) (*url.URL, error) {
		return nil, fmt.Errorf("%s: %s. Try: https://host/ or http://127.0.0.1:PORT/", shown, reason)
	}
	u, err := url.Parse(s)
	if err != nil {
		return refuse("not a URL")
	}
	if origin, _ := splitAddress(s); origin != "" {
		shown = fmt.Sprintf("upstream URL %q", origin)
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
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

// IsLoopback reports whether host, without a port, is this machine: localhost, 127.0.0.0/8 or ::1, in their usual
// spellings.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
