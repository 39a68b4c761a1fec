//go:build !unix

package store_test

import (
	"testing"
	"time"
)

var processBegan = time.Now()

// cpuTime returns the elapsed time, since no CPU time is available here.
func cpuTime(testing.TB) time.Duration { return time.Since(processBegan) }
