package httplimit

import (
	"net/http"
	"net/netip"
)

// Address is the client's address.
func (l *Limiter) Address(r *http.Request) netip.Addr { return l.address(r, false) }
