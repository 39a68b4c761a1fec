package service

// What the tests need that nobody else does.
var (
	Heartbeat = heartbeat
	NewLogs   = newLogs
)
