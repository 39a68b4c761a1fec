//go:build unix && !linux

package main_test

import (
	"os/exec"
	"testing"
)

// mounting reports false: only Linux lets the tests mount a file system for a single process.
func mounting(*testing.T, *exec.Cmd, string) bool { return false }

func quoted(path string) string { return path }

func mayMount() bool { return false }
