package doctor

import "fmt"

// Status is how a check ended.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Class is the kind of a failure. Of several, the largest class is to be fixed first, since it keeps the others from being
// judged.
type Class int

// The classes.
const (
	NoFailure   Class = iota
	Other             // anything else
	Unavailable       // the ledger or the upstream
	BadKey
	BadConfig
)

// Finding is the result of a check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"` // "" if there was nothing to look at
	Detail string `json:"detail"` // what was seen; its parts are separated by "; "
	Advice string `json:"advice"` // what to do next
	Class  Class  `json:"-"`      // of a failure

	brief string // what a screen shows of the detail; "": all of it
	err   error  // of a failure whose class is the error's
}

func okf(format string, args ...any) Finding {
	return Finding{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func warn(detail, advice string) Finding {
	return Finding{Status: Warn, Detail: detail, Advice: advice}
}

func fail(class Class, detail, advice string) Finding {
	return Finding{Status: Fail, Detail: detail, Advice: advice, Class: class}
}

// failAs returns a failure of the error's class.
func failAs(err error, detail, advice string) Finding {
	return Finding{Status: Fail, Detail: detail, Advice: advice, err: err}
}

// failWith is failAs with the error's text as the detail.
func failWith(err error, advice string) Finding { return failAs(err, err.Error(), advice) }

// noFinding is the finding of a check that has nothing to look at, or whose subject another check reports on.
var noFinding = Finding{}
