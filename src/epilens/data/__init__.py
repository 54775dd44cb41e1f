"""BIDS trees and files → `Recording`s, with an audit of all that was left out."""
