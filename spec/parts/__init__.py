"""What the protocol artefacts are made of: schemas learnt from the gate or read from types, and text."""
