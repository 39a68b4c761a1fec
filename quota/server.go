package quota

// ServerError accompanies ErrUnavailable: the reason is in how the ledger's server is set up or reached.
type ServerError struct {
	Cause string // such as: the server is out of memory
	Cure  string // what a person can do about it
	Err   error  // what the server or the network said
}

func (e *ServerError) Error() string { return e.Cause + ": " + e.Err.Error() + ": " + e.Cure }

// Remedy says what is wrong, and what to do.
func (e *ServerError) Remedy() (wrong, advice string) { return e.Cause, e.Cure }

func (e *ServerError) Unwrap() error { return e.Err }
