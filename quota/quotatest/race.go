//go:build race

package quotatest

const raced = true
