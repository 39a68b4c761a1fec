//go:build race

package storetest

func init() { Raced = true }
