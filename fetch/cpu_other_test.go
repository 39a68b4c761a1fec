//go:build !unix

package fetch_test

import (
	"testing"
	"time"
)

var processBegan = time.Now()

// cpuTime is the time that has passed: nothing better is at hand here.
func cpuTime(testing.TB) time.Duration { return time.Since(processBegan) }
