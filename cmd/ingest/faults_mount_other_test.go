//go:build unix && !linux

package main_test

import (
	"os/exec"
	"testing"
)

// mounting cannot be had for one process alone.
func mounting(*testing.T, *exec.Cmd, string) bool { return false }

func quoted(path string) string { return path }

func mayMount() bool { return false }
