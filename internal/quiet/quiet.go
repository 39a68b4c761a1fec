// Package quiet silences libraries that log while the program starts: gRPC, which Google's client links, writes
// messages about the environment to standard error. Packages are initialised in the order of their paths as soon as
// their imports are: this one imports nothing but the standard library, and comes before google.golang.org.
package quiet

import "os"

func init() { _ = os.Setenv("GRPC_GO_LOG_SEVERITY_LEVEL", "none") }
