package wire

import "regexp"

// host is a name or an address, with or without a port.
const host = `(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?`

// address is a URL: scheme, user and password, hosts, a path of one part, a query or fragment. An '@' behind the hosts
// does not match: a '/', '?' or '#' in a password was not escaped, and what seems to be a host is a part of it.
var address = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]{0,19}://)(?:[^/?#]*@)?((?:` + host + `(?:,` + host + `)*)?)(/[A-Za-z0-9_.~%-]*)?(?:[?#][^@]*)?$`)

// ShowURL returns what may be shown of an address: its scheme, its hosts with their ports, and its path. Of anything
// else, which may be a secret or hold one, it returns "***".
func ShowURL(s string) string {
	origin, path := splitAddress(s)
	if origin == "" {
		return "***"
	}
	return origin + path
}

// splitAddress returns the parts of an address that may be shown; "" for what is no address.
func splitAddress(s string) (origin, path string) {
	parts := address.FindStringSubmatch(s)
	if parts == nil {
		return "", ""
	}
	return parts[1] + parts[2], parts[3]
}
