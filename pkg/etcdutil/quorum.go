package etcdutil

// Quorum is how many of so many voters must agree for anything to be committed. Learners are not voters. Without any
// voter there is nobody to agree, and the answer is 1: nothing satisfies it.
func Quorum(voters int) int { return max(voters, 0)/2 + 1 }
