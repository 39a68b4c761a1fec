package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/certificate"
)

// handshake is the error of a client that trusts the certificate, for a server of another name if wanted.
func handshake(t *testing.T, from, to time.Time, name string, trusted bool) error {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to, DNSNames: []string{"db.example.net"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if trusted {
		roots.AddCert(parsed)
	}
	here, there := net.Pipe()
	defer func() { _ = here.Close() }()
	go func() {
		server := tls.Server(there, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
		_ = server.HandshakeContext(t.Context()) // the client names the fault
		_ = there.Close()
	}()
	return tls.Client(here, &tls.Config{MinVersion: tls.VersionTLS13, ServerName: name, RootCAs: roots}).HandshakeContext(t.Context())
}

// TestACertificateGetsItsOwnFaultsName: expired, not valid yet, of a stranger or for another name.
func TestACertificateGetsItsOwnFaultsName(t *testing.T) {
	const hour, name, authority = time.Hour, "db.example.net", "name the authority"
	now := time.Now()
	for what, tt := range map[string]struct {
		err         error
		wrong, cure string
	}{
		"expired":        {handshake(t, now.Add(-2*hour), now.Add(-hour), name, true), "expired at ", "give the server a new one"},
		"not valid yet":  {handshake(t, now.Add(hour), now.Add(2*hour), name, true), "is not valid before ", "clock"},
		"of a stranger":  {handshake(t, now.Add(-hour), now.Add(hour), name, false), "is refused", authority},
		"another's name": {handshake(t, now.Add(-hour), now.Add(hour), "other.example.net", true), "is refused", authority},
		"all well":       {handshake(t, now.Add(-hour), now.Add(hour), name, true), "", ""},
		"something else": {errors.New("connection refused"), "", ""},
	} {
		wrong, cure := certificate.Refused(tt.err, authority)
		if !strings.HasPrefix(wrong, tt.wrong) || !strings.Contains(cure, tt.cure) || (wrong == "") != (tt.wrong == "") {
			t.Errorf("%s (%v): %q, %q", what, tt.err, wrong, cure)
		}
	}
}
