package main

import "net/url"

// redacted is a ledger's URL without what must not be seen: a password may stand before the host, or
// in the query. What does not name a host is not shown at all.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "***"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
