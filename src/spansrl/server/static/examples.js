// Texts to begin with: short labels for the buttons, and sentences that show different kinds of roles.

export const EXAMPLES = [
  { name: "A sale", text: "Yesterday the museum sold the old painting to a collector from Lisbon for nine million euros." },
  { name: "Nouns", text: "The committee's decision to close the library surprised everyone. Her refusal of the offer was polite." },
  { name: "A promise", text: "She promised her brother that she would repair his bicycle before the race, but she forgot." },
  { name: "Who, which", text: "The bridge, which engineers had inspected twice, collapsed quietly during the night." },
];
