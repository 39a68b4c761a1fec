package quota

import "strings"

// ServerError accompanies ErrUnavailable: the reason is in how the ledger's server is set up or reached.
type ServerError struct {
	Cause string // such as: the server is out of memory
	Cure  string // the cure: a person's next step
	Err   error  // the words of the server or the network
}

func (e *ServerError) Error() string {
	return e.Cause + ": " + strings.TrimSuffix(e.Err.Error(), ".") + ": " + e.Cure
}

// Remedy names the trouble and the cure.
func (e *ServerError) Remedy() (wrong, advice string) { return e.Cause, e.Cure }

func (e *ServerError) Unwrap() error { return e.Err }
