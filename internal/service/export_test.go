package service

// Heartbeat is exported for the tests.
var Heartbeat = heartbeat
