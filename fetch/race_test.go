//go:build race

package fetch_test

func init() { raced = true }
