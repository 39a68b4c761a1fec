// Package certificate names the fault of a server's certificate, and the cure.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// Refused returns the fault of a server's certificate, such as "is refused", and the cure; "" and "" if err is of
// another kind. authority returns the cure where an authority is missing, or the name is another one.
func Refused(err error, authority string) (wrong, cure string) {
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case isInvalid && invalid.Reason == x509.Expired && time.Now().Before(invalid.Cert.NotBefore):
		return "is not valid before " + stamp(invalid.Cert.NotBefore),
			"set this machine's clock if it is behind, or wait until then"
	case isInvalid && invalid.Reason == x509.Expired:
		return "expired at " + stamp(invalid.Cert.NotAfter), "give the server a new one"
	case isInvalid, errors.As(err, new(*tls.CertificateVerificationError)),
		errors.As(err, new(x509.UnknownAuthorityError)):
		return "is refused", authority
	}
	return "", ""
}

func stamp(t time.Time) string { return t.UTC().Format(time.DateTime + "Z") }
