package main

import "net/url"

// redacted is a URL without its password; what cannot be read as a URL is not shown at all.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "***"
	}
	return u.Redacted()
}
