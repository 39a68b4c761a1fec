//go:build unix && !linux

package main_test

import (
	"os/exec"
	"testing"
)

// mounting is not possible here for a single process.
func mounting(*testing.T, *exec.Cmd, string) bool { return false }

func quoted(path string) string { return path }

func mayMount() bool { return false }
