// Texts to begin with: short names for the buttons, and sentences that show different kinds of predicates and roles.

export const EXAMPLES = [
  { name: "A sale", text: "Ann sold her old car to a neighbor last week because she had bought a new one." },
  { name: "A cause", text: "The bridge collapsed quietly during the night because nobody had repaired it." },
  { name: "A request", text: "I asked the waiter to bring us the bill, but he never came back." },
  { name: "Nouns", text: "The company's decision to close the library surprised everyone. The destruction of the city by the Romans shocked historians." },
  { name: "News", text: "The minister denied that the government had known about the leak. Scientists at the university discovered a new species of frog in Peru last week." },
  { name: "E-mail", text: "Hi Tom, could you send me the report by Friday? I will show it to the board next week." },
];
