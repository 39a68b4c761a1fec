package httplimit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Forwarding is a header that proxies use to name the client. Only Config.Proxies are believed.
type Forwarding string

// The supported headers. A proxy must append to the chosen one.
const (
	XForwardedFor Forwarding = "X-Forwarded-For"
	Forwarded     Forwarding = "Forwarded" // RFC 7239
)

// maxHops bounds how many proxies are walked through.
const maxHops = 32

// address returns the client's address, the zero Addr if it has none (a Unix socket). It walks from the peer through
// the entries of trusted proxies, right to left, to the first hop that is not a trusted proxy. It also stops at a hop
// that is not an address: all clients that a proxy names so count as that proxy. With trusted, the peer is believed
// too.
func (l *Limiter) address(r *http.Request, trusted bool) netip.Addr {
	addr := parseHop(r.RemoteAddr)
	if !trusted && !contains(l.Proxies, addr) {
		return addr
	}
	rest := strings.Join(r.Header[string(l.Forwarding)], ",")
	for range maxHops {
		comma := strings.LastIndexByte(rest, ',')
		hop := l.parseElement(strings.Trim(rest[comma+1:], " \t"))
		if !hop.IsValid() {
			return addr
		}
		if addr = hop; comma < 0 || !contains(l.Proxies, addr) {
			return addr
		}
		rest = rest[:comma]
	}
	return addr
}

// parseElement reads one proxy's entry.
func (l *Limiter) parseElement(s string) netip.Addr {
	if l.Forwarding == XForwardedFor {
		return parseHop(s)
	}
	node, ok := forwardedFor(s)
	if !ok {
		return netip.Addr{}
	}
	return parseHop(node)
}

// parseHop reads an address with or without a port: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1],
// [2001:db8::1]:80. It returns the zero Addr for anything else, and for unspecified addresses.
func parseHop(s string) netip.Addr {
	hop, err := netip.ParseAddrPort(s)
	if err != nil {
		hop, err = netip.ParseAddrPort(s + ":0")
	}
	addr := hop.Addr()
	if err != nil { // IPv6 without brackets
		addr, err = netip.ParseAddr(s)
	}
	if err != nil || addr.IsUnspecified() || addr.Unmap().IsUnspecified() {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// forwardedFor returns the for parameter of an element of Forwarded. The whole element must be well formed, so that no
// part of a quoted string with a comma passes for a hop.
func forwardedFor(element string) (node string, ok bool) {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, found := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !found || !isToken(name) {
			return "", false
		}
		if inner, quoted := strings.CutPrefix(value, `"`); quoted {
			inner, quoted = strings.CutSuffix(inner, `"`)
			if !quoted || strings.ContainsAny(inner, `"\`) {
				return "", false
			}
			value = inner
		} else if !isToken(strings.NewReplacer(":", "", "[", "", "]", "").Replace(value)) {
			return "", false // proxies also write IPv6 addresses unquoted
		}
		if strings.EqualFold(name, "for") {
			if ok {
				return "", false // given twice
			}
			node, ok = value, true
		}
	}
	return node, ok
}

// isToken reports whether s is a token of HTTP (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// plain converts prefixes of IPv4 mapped into IPv6 to IPv4, for contains.
func plain(in []netip.Prefix) (out []netip.Prefix) {
	for _, p := range in {
		if addr := p.Addr(); addr.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(addr.Unmap(), p.Bits()-96)
		}
		out = append(out, p.Masked())
	}
	return out
}

func contains(in []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(in, func(p netip.Prefix) bool { return p.Contains(addr) })
}
