package wire

import "regexp"

// host is a name or an address, with or without a port.
const host = `(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?`

// address matches a URL: scheme, user and password, hosts, a path of one part, a query or fragment. It allows no '@'
// after the hosts: then a '/', '?' or '#' in a password was not escaped, and the apparent host is a part of the
// password.
var address = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]{0,19}://)(?:[^/?#]*@)?((?:` +
	host + `(?:,` + host + `)*)?)(/[A-Za-z0-9_.~%-]*)?(?:[?#][^@]*)?$`)

// ShowURL returns the parts of an address that may be shown: its scheme, hosts with ports, and path; "***" for
// anything else, which may hold a secret.
func ShowURL(s string) string {
	origin, path := splitAddress(s)
	if origin == "" {
		return "***"
	}
	return origin + path
}

// splitAddress returns the parts of an address that may be shown; "" for anything else.
func splitAddress(s string) (origin, path string) {
	parts := address.FindStringSubmatch(s)
	if parts == nil {
		return "", ""
	}
	return parts[1] + parts[2], parts[3]
}
