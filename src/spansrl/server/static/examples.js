// Texts to begin with: short names for the buttons, and sentences that show different kinds of roles.

export const EXAMPLES = [
  { name: "A sale", text: "A museum in Oslo bought the painting from Ann for nine million euros." },
  { name: "News", text: "The storm destroyed dozens of homes on Monday. Officials said that volunteers had already given food and blankets to most of the families." },
  { name: "A promise", text: "Maria promised her brother that she would repair his bicycle before the race, but she forgot." },
  { name: "Nouns", text: "The company's decision to close the library surprised everyone. Her refusal of the offer was polite." },
  { name: "Who, which", text: "The bridge, which engineers had inspected twice, collapsed quietly during the night." },
  { name: "E-mail", text: "Hi Tom, could you send me the report by Friday? I will show it to the board next week." },
];
