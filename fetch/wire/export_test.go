package wire

import "crypto/tls"

// Trust makes the transport accept a test server's certificate.
func Trust(t *Transport, cfg *tls.Config) { t.base.TLSClientConfig = cfg }

// LoopbackOnly is asked for every address that a connection in clear is about to go to.
func LoopbackOnly(address string) error { return loopbackOnly("tcp", address, nil) }
