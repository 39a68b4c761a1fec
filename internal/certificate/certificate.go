// Package certificate says what is wrong with a server's certificate, and what helps.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// Refused returns what the certificate of a server is, such as "is refused", and what helps; "" and "" if err is of another
// kind. authority says what helps where an authority is missing, or the name is another's.
func Refused(err error, authority string) (wrong, cure string) {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case isInvalid && invalid.Reason == x509.Expired && time.Now().Before(invalid.Cert.NotBefore):
		return "is not valid before " + stamp(invalid.Cert.NotBefore), "set this machine's clock if it is behind, or wait until then"
	case isInvalid && invalid.Reason == x509.Expired:
		return "expired at " + stamp(invalid.Cert.NotAfter), "give the server a new one"
	case isInvalid, errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)):
		return "is refused", authority
	}
	return "", ""
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
