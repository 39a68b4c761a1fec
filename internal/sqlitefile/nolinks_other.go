//go:build !unix

package sqlitefile

func followNoLinks(string) {}
