//go:build unix

package faulty

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// RequireTLS admits everybody but the administrator only by TLS and with a password. It returns the file of the
// authority that signed the server's certificate, which is for 127.0.0.1.
func (d *Database) RequireTLS(t T) (authority string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("faulty: %v", err)
		}
	}
	owner, err := os.Stat(d.Data)
	must(err)
	put := func(name string, text []byte) {
		t.Helper()
		path := filepath.Join(d.Data, name)
		must(os.WriteFile(path, text, 0o600))
		if stat, ok := owner.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
			must(os.Chown(path, int(stat.Uid), int(stat.Gid)))
		}
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of the tests"},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   ca.NotBefore, NotAfter: ca.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	must(err)
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	must(err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	must(err)
	put("server.crt", block("CERTIFICATE", serverDER))
	put("server.key", block("EC PRIVATE KEY", keyDER))
	put("pg_hba.conf", []byte("host all "+admin+" 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"))
	d.Admin(t, "ALTER SYSTEM SET ssl = on")
	d.Admin(t, "SELECT pg_reload_conf()")
	authority = filepath.Join(d.dir, "ca.crt")
	must(os.WriteFile(authority, block("CERTIFICATE", caDER), 0o600))
	return authority
}
