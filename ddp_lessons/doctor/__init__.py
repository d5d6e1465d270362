"""The doctor: runs a training script on real CPU ranks, unchanged, and says what is wrong about its distribution."""
