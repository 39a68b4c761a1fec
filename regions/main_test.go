package regions_test

import (
	"testing"
	_ "time/tzdata" // the zones of the tests, on a machine without any

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
