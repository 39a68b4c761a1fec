package web

import "net"

// Bounded is l with so many connections at once.
func Bounded(l net.Listener, most int) net.Listener { return bounded(l, most) }
