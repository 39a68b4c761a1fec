package config

// Error is a mistake in the configuration: exit 78.
type Error struct{ error }

// Unwrap returns the mistake itself.
func (e Error) Unwrap() error { return e.error }

// Cause is the name of the cause in the table of standing.
func (Error) Cause() string { return "bad config" }

// Invalid marks an error as one of the configuration; nil stays nil.
func Invalid(err error) error {
	if err == nil {
		return nil
	}
	return Error{err}
}

// KeyError is a key that is missing or cannot be used: exit 77.
type KeyError struct{ error }

// Unwrap returns the reason.
func (e KeyError) Unwrap() error { return e.error }

// Cause is as of Error.
func (KeyError) Cause() string { return "no key" }
