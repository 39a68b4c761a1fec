package main

import (
	"fmt"
	"runtime"
)

// version is set by the linker.
var version = "dev"

// versionText returns the version for a person.
func versionText() string {
	return fmt.Sprintf("ingest %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
