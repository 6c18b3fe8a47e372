package etcdutil

import "testing"

func TestQuorumIsASmallestMajority(t *testing.T) {
	for voters, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		if got := Quorum(voters); got != want {
			t.Errorf("Quorum(%d) = %d, want %d", voters, got, want)
		}
	}
}

// Two majorities of the same voters always share one; anything smaller need not.
func TestTwoQuorumsMeetAndNothingSmallerDoes(t *testing.T) {
	for voters := 1; voters <= 50; voters++ {
		q := Quorum(voters)
		if 2*q <= voters || 2*(q-1) > voters {
			t.Errorf("Quorum(%d) = %d", voters, q)
		}
	}
}

func TestNoMemberIsNoQuorum(t *testing.T) {
	for _, voters := range []int{0, -1} {
		if Quorum(voters) != 1 {
			t.Errorf("%d voters: quorum %d", voters, Quorum(voters))
		}
	}
}
