//go:build !unix

package fetch_test

import (
	"testing"
	"time"
)

var processBegan = time.Now()

// cpuTime returns the time that has passed: there is nothing better here.
func cpuTime(testing.TB) time.Duration { return time.Since(processBegan) }
